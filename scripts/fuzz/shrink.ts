/** The smallest part of a failing body that still fails, found by leaving out ever smaller pieces. */
export function shrink(body: Uint8Array, fails: (candidate: Uint8Array) => boolean): Uint8Array {
  let smallest: Buffer = Buffer.from(body);
  for (let size = smallest.length >> 1; size >= 1; size >>= 1) {
    for (let at = 0; at < smallest.length;) {
      const candidate = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + size)]);
      if (fails(candidate)) smallest = candidate;
      else at += size;
    }
  }
  return smallest;
}
