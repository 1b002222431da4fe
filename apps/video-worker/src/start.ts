import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { queues } from '@libs/contracts';
import { watchSharedKeys } from '@libs/inference';
import { consumeQueues, nestOptions, PlatformModule, type AppContext, type RunningApp } from '@libs/platform';
import { createVideoProviders } from './create-video-providers';
import { providerKeyVariables, type VideoWorkerEnv } from './video-worker.env';
import { VideoWorkerModule } from './video-worker.module';
import { VideoScalingService } from './scaling/video-scaling.service';
import { VideoLaneService } from './videos/video-lane.service';
import { VideoSweeperService } from './videos/video-sweeper.service';
import { DeliveryLaneService } from './webhooks/delivery-lane.service';
import { DeliverySweeperService } from './webhooks/delivery-sweeper.service';

/**
 * Starts the worker and returns how to stop it: it stops claiming at once, finishes the submissions and attempts under
 * way, then closes connections.
 */
export async function start(context: AppContext<VideoWorkerEnv>): Promise<RunningApp> {
  const providers = await createVideoProviders(context.env, providerKeyVariables());
  const worker = VideoWorkerModule.for(context.env, providers);
  const root = { ...worker, imports: [PlatformModule.for(context), ...(worker.imports ?? [])] };
  const app = await NestFactory.create(root, new FastifyAdapter(), nestOptions(context));
  watchSharedKeys(providers.catalogue, providers.shared, (text) => context.logger.warn(text, 'Catalogue'));
  await app.init();
  const [videos, videoSweeper] = [app.get(VideoLaneService), app.get(VideoSweeperService)];
  const scaling = app.get(VideoScalingService);
  const [deliveries, deliverySweeper] = [app.get(DeliveryLaneService), app.get(DeliverySweeperService)];
  const consumption = await consumeQueues(app, {
    amqpUrl: context.env.AMQP_URL,
    queues: [queues.videos, queues.webhooks],
  });
  videos.start();
  videoSweeper.start();
  deliverySweeper.start();
  scaling.start();
  process.on('SIGHUP', () => void providers.catalogue.reload());
  context.readiness.addCheck('queues', () => consumption.isConnected());
  context.drainSteps.add('videos', () => videos.drain());
  context.drainSteps.addBeside('webhooks', () => deliveries.drain());
  context.drainSteps.addBeside('queues', () => consumption.drain());
  context.drainSteps.addBeside('video sweeper', () => videoSweeper.stop());
  context.drainSteps.addBeside('webhook sweeper', () => deliverySweeper.stop());
  return {
    stop: async () => {
      await scaling.stop();
      await app.close();
      await providers.close();
    },
  };
}
