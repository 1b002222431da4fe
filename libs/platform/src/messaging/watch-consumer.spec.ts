import { watchConsumer } from './watch-consumer';

describe(watchConsumer.name, () => {
  const never = new AbortController().signal;

  it('finds a consumer lost when its queue has known of none seven times in a row', async () => {
    const counts = [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    let looks = 0;
    const countConsumers = async (): Promise<number> => counts[looks++] ?? 1;
    await expect(watchConsumer(countConsumers, never, 1)).resolves.toBe(true);
    expect(looks).toBe(counts.length);
  });

  it('ends without a finding when it is called off', async () => {
    const controller = new AbortController();
    const watched = watchConsumer(async () => 0, controller.signal, 60_000);
    controller.abort();
    await expect(watched).resolves.toBe(false);
  });
});
