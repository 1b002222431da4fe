import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { queues } from '@libs/contracts';
import {
  consumeQueues,
  FeedOwner,
  nestOptions,
  PlatformModule,
  type AppContext,
  type RunningApp,
} from '@libs/platform';
import type { CredentialsEnv } from './credentials.env';
import { CredentialsModule } from './credentials.module';

/** Resolves when questions are being answered. The app has no HTTP of its own beside health. */
export async function start(context: AppContext<CredentialsEnv>): Promise<RunningApp> {
  const credentials = CredentialsModule.for(context.env);
  const root = { ...credentials, imports: [PlatformModule.for(context), ...(credentials.imports ?? [])] };
  const app = await NestFactory.create(root, new FastifyAdapter(), nestOptions(context));
  await app.init();
  const feed = app.get(FeedOwner, { strict: false });
  const consumption = await consumeQueues(app, {
    amqpUrl: context.env.AMQP_URL,
    queues: [queues.credentials, queues.credentialsChanges],
    announce: () => feed.announce(),
  });
  context.readiness.addCheck('queues', () => consumption.isConnected());
  context.drainSteps.add('queues', () => consumption.drain());
  return { stop: () => app.close() };
}
