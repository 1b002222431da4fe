import type { DynamicModule, INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import type { QueueSpec } from '@libs/contracts';
import type { AppContext } from '../health/lifecycle';
import { nestOptions, PlatformModule } from '../health/platform.module';
import { BrokerIdentity, consumeQueues, UsedQuestions } from '../messaging';
import { FeedOwner } from './feed-owner';

/**
 * Starts an app that answers the calls of its queues and publishes the changes that they make. Resolves when it answers.
 * Its only HTTP routes are the health routes.
 */
export async function startFeedOwner(
  context: AppContext,
  module: DynamicModule,
  queues: readonly QueueSpec[],
): Promise<INestApplication> {
  const root = { ...module, imports: [PlatformModule.for(context), ...(module.imports ?? [])] };
  const app = await NestFactory.create(root, new FastifyAdapter(), nestOptions(context));
  await app.init();
  const feed = app.get(FeedOwner, { strict: false });
  const { AMQP_URL: amqpUrl } = context.env;
  const answering = {
    identity: app.get(BrokerIdentity),
    usedQuestions: app.get(UsedQuestions, { strict: false }),
    announce: () => feed.announce(),
  };
  const consumption = await consumeQueues(app, { amqpUrl, queues, answering });
  context.readiness.addCheck('queues', () => consumption.isConnected());
  context.drainSteps.add('queues', () => consumption.drain());
  return app;
}
