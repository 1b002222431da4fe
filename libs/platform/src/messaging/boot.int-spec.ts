import { Controller, Logger, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { MessagePattern } from '@nestjs/microservices';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { IsString } from 'class-validator';
import { job, Secret } from '@libs/contracts';
import { TestBroker } from '../testing';
import { consumeQueues, Handles } from '.';

class Payload {
  @IsString()
  id: string;
}

describe('booting an app that consumes queues', () => {
  let broker: TestBroker;

  beforeEach(async () => {
    Logger.overrideLogger(false);
    broker = await TestBroker.connect();
  });

  afterEach(() => broker.close());

  it('refuses missing, doubled, misplaced and foreign handlers in one message that names them all', async () => {
    const [own, other] = [broker.jobQueue(), broker.jobQueue()];
    const missing = job({ queue: own, name: 'own.missing', payload: Payload });
    const doubled = job({ queue: own, name: 'own.doubled', payload: Payload });
    const misplaced = job({ queue: other, name: 'other.misplaced', payload: Payload });
    const unlisted = job({ queue: own, name: 'own.unlisted', payload: Payload });

    @Controller()
    class FirstConsumer {
      @Handles(doubled)
      async one(): Promise<void> {}

      @Handles(misplaced)
      async elsewhere(): Promise<void> {}

      @MessagePattern<string>('own.raw')
      async raw(): Promise<void> {}
    }

    @Controller()
    class SecondConsumer {
      @Handles(doubled)
      async two(): Promise<void> {}

      @Handles(unlisted)
      async unknown(): Promise<void> {}
    }

    const boot = start([FirstConsumer, SecondConsumer], {
      amqpUrl: broker.secretUrl,
      queues: [own],
      contracts: [missing, doubled, misplaced],
    });
    const error = await boot.catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'server' });
    const { message } = error as Error;
    expect(message).toContain('own.missing has no handler');
    expect(message).toContain('own.doubled has 2 handlers: FirstConsumer.one, SecondConsumer.two');
    expect(message).toContain(`FirstConsumer.elsewhere is for other.misplaced of queue ${other.name}`);
    expect(message).toContain('own.raw was not declared with @Handles');
    expect(message).toContain('SecondConsumer.unknown is for own.unlisted');
  });

  it('starts without a broker and says that it is not connected', async () => {
    const queue = broker.jobQueue();
    const proxy = await broker.proxy();
    proxy.refuse();
    const amqpUrl = new Secret(proxy.through(broker.url));
    const consumption = await start([], { amqpUrl, queues: [queue], contracts: [], startTimeoutMs: 300 });
    expect(consumption.isConnected()).toBe(false);
    await consumption.drain();
    await proxy.close();
  });

  async function start(controllers: Type<unknown>[], options: Parameters<typeof consumeQueues>[1]) {
    @Module({ controllers })
    class AppModule {}
    const app = await NestFactory.create(AppModule, new FastifyAdapter(), { logger: false });
    await app.init();
    return consumeQueues(app, options);
  }
});
