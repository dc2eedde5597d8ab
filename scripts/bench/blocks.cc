// Has as many blocks as its argument says, in a vector and in a list that each block of it leads to.
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

struct Node {
    Node *next, *before;
    char content[70];
};

std::vector<Node *> g_nodes;
Node *g_list;

int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 0;
    Node *last = nullptr;
    for (long i = 0; i < n; i++) {
        Node *node = new Node();
        node->before = last;
        if (i % 3 == 0) {
            node->next = g_list;
            g_list = node;
        } else {
            g_nodes.push_back(node);
        }
        last = node;
    }
    puts("ready");
    fflush(stdout);
    for (;;) sleep(1);
}
