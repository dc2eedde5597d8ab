// The lines are in the test.
int plain = 1;
const char *text = "text";
namespace shop {
struct Item { int n; };
template <class T> struct Stack { T top; T *rest; };
extern Stack<int> stock;
} // namespace shop
using Item = shop::Item;
static Item *volatile hidden[20];
shop::Stack<int> shop::stock;
void (*handler)();
int main(int argc, char **) {
    static unsigned long calls;
    hidden[argc] = new Item();
    return static_cast<int>(++calls) + hidden[0]->n;
}
