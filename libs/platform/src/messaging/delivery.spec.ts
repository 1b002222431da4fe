import { IllegalOperationError, type Channel, type ConsumeMessage } from 'amqplib';
import { Delivery } from './delivery';

describe(Delivery.name, () => {
  const message = { fields: { deliveryTag: 1 } } as ConsumeMessage;

  function recordingChannel(failure?: Error): { channel: Channel; said: string[] } {
    const said: string[] = [];
    const say = (word: string) => () => {
      if (failure) throw failure;
      said.push(word);
    };
    return { said, channel: { ack: say('ack'), nack: say('nack') } as unknown as Channel };
  }

  it('tells the broker once, however often it is settled', () => {
    const { channel, said } = recordingChannel();
    const delivery = new Delivery(channel, message);
    delivery.requeue();
    delivery.ack();
    delivery.reject();
    delivery.requeue();
    expect(said).toEqual(['nack']);
    expect(delivery.isSettled).toBe(true);
  });

  it('says nothing when the channel is gone, since the broker has the message back', () => {
    const { channel } = recordingChannel(new IllegalOperationError('Channel closed'));
    expect(() => new Delivery(channel, message).ack()).not.toThrow();
  });

  it('does not hide any other trouble', () => {
    const { channel } = recordingChannel(new TypeError('a defect'));
    expect(() => new Delivery(channel, message).ack()).toThrow('a defect');
  });
});
