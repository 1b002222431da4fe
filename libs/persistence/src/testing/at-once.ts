/** More than a pool has connections, so that each of them is always in use. */
const CALLERS = 20;

/** Does a thing so many times, as often at once as the database can bear: a crowd does not wait until it times out. */
export async function atOnce<T>(times: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < times) {
      const index = next;
      next += 1;
      results[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  return results;
}
