// The members are in the test. declared.cc defines struct Declared.
struct Declared;
struct Base {
    virtual ~Base() {}
    int number;
};
struct Second {
    long second;
};
namespace shop {
using Text = const char *;
template <class T> struct Inner {
    T inner;
};
struct Item : Base, Second {
    static int shared;
    int low : 3, high : 20;
    union {
        Text text;
        struct {
            int x, y;
        };
    };
    Item *next;
    Declared *declared;
    short grid[2][3];
    Inner<long> inside;
} item;
int Item::shared;
thread_local Item *current[4];
} // namespace shop
Declared *make();
int main() {
    shop::item.declared = make();
    shop::current[1] = &shop::item;
    return shop::item.declared != nullptr;
}
