import { EventEmitter } from 'node:events';
import type { ChannelModel } from 'amqplib';
import { watchConsumer } from './watch-consumer';

/** A broker that answers each look at the queue with the next count; beyond the last it cannot be asked. */
function brokerThatCounts(counts: number[]): { model: ChannelModel; looks: () => number } {
  let looks = 0;
  const createChannel = async () =>
    Object.assign(new EventEmitter(), {
      checkQueue: async () => {
        const consumerCount = counts[looks++];
        if (consumerCount === undefined) throw new Error('no answer');
        return { queue: 'q', messageCount: 0, consumerCount };
      },
      close: async () => undefined,
    });
  return { model: { createChannel } as unknown as ChannelModel, looks: () => looks };
}

describe(watchConsumer.name, () => {
  const never = new AbortController().signal;

  it('finds a consumer lost when its queue has known of none three times in a row', async () => {
    const { model, looks } = brokerThatCounts([1, 0, 0, 1, 0, 0, 0]);
    await expect(watchConsumer(model, 'q', never, 1)).resolves.toBe(true);
    expect(looks()).toBe(7);
  });

  it('finds a consumer lost whose queue cannot be described any more', async () => {
    const { model } = brokerThatCounts([1]);
    await expect(watchConsumer(model, 'q', never, 1)).resolves.toBe(true);
  });

  it('ends without a finding when it is called off', async () => {
    const { model } = brokerThatCounts([]);
    const controller = new AbortController();
    const watched = watchConsumer(model, 'q', controller.signal, 60_000);
    controller.abort();
    await expect(watched).resolves.toBe(false);
  });
});
