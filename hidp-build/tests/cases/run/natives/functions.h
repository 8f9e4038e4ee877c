/* What natives.hdp uses of C++; tests/filetests/natives.rs has the same for the interpreter. */
#include <stdbool.h>

#include <hidp/function.h>

struct Point {
  long long id;
  float x, y;
  bool seen;
};

HIDP_FUNCTION inline float twist(float x) { return 2 * x + 0.5f; }
HIDP_FUNCTION inline bool below(int x, int bound) { return x < bound; }
HIDP_FUNCTION inline struct Point nearer(struct Point a, struct Point b) { return b.x < a.x ? b : a; }
HIDP_FUNCTION inline struct Point moved(struct Point p, float by) {
  p.x += by;
  p.seen = true;
  return p;
}
