import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { queues } from '@libs/contracts';
import { consumeQueues, nestOptions, PlatformModule, type AppContext, type RunningApp } from '@libs/platform';
import type { VideoWorkerEnv } from './video-worker.env';
import { VideoWorkerModule } from './video-worker.module';
import { DeliveryLaneService } from './webhooks/delivery-lane.service';
import { DeliverySweeperService } from './webhooks/delivery-sweeper.service';

/**
 * Boots the worker and says how it ends: first no new nudges and sweeps, then attempts under way come to their end,
 * then connections close.
 */
export async function start(context: AppContext<VideoWorkerEnv>): Promise<RunningApp> {
  const worker = VideoWorkerModule.for(context.env);
  const root = { ...worker, imports: [PlatformModule.for(context), ...(worker.imports ?? [])] };
  const app = await NestFactory.create(root, new FastifyAdapter(), nestOptions(context));
  await app.init();
  const [deliveries, sweeper] = [app.get(DeliveryLaneService), app.get(DeliverySweeperService)];
  const consumption = await consumeQueues(app, { amqpUrl: context.env.AMQP_URL, queues: [queues.webhooks] });
  sweeper.start();
  context.readiness.addCheck('queues', () => consumption.isConnected());
  context.drainSteps.add('queues', () => consumption.drain());
  context.drainSteps.add('sweeper of webhooks', () => sweeper.stop());
  context.drainSteps.add('webhooks', () => deliveries.drain());
  return { stop: () => app.close() };
}
