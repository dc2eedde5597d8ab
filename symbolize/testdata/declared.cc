struct Declared {
    int found;
};
struct Declared *make() { return new Declared(); }
