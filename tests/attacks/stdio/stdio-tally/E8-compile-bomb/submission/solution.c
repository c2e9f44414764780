#define A(x) x x x x x x x x
#define B(x) A(A(A(A(x))))
int a[] = {B(B(B(1,)))};
int main(void) {}