#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS (1u << 18)

struct slot {
    char word[72];
    long count;
};

static struct slot *slots;

static void add(const char *word) {
    unsigned place = 2166136261u;
    for (const char *letter = word; *letter; letter++)
        place = (place ^ (unsigned char)*letter) * 16777619u;
    place %= SLOTS;
    while (slots[place].count && strcmp(slots[place].word, word) != 0)
        place = (place + 1) % SLOTS;
    strcpy(slots[place].word, word);
    slots[place].count++;
}

int main(void) {
    char word[72];
    unsigned length = 0;
    int letter, found = 0;
    slots = calloc(SLOTS, sizeof *slots);
    do {
        letter = getchar();
        if (letter != EOF && ((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= '_'))) {
            if (length < sizeof word - 1)
                word[length++] = (char)(letter | 32);
        } else if (length) {
            word[length] = 0;
            add(word);
            found = 1;
            length = 0;
        }
    } while (letter != EOF);
    if (!found)
        puts("none");
    for (unsigned place = 0; found && place < SLOTS; place++)
        if (slots[place].count)
            printf("%ld %s\n", slots[place].count, slots[place].word);
    return 0;
}
