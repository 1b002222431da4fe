import { NestFactory } from '@nestjs/core';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { queues } from '@libs/contracts';
import { watchSharedKeys } from '@libs/inference';
import { consumeQueues, nestOptions, PlatformModule, type AppContext, type RunningApp } from '@libs/platform';
import { providerKeyVariables, type BatchWorkerEnv } from './batch-worker.env';
import { BatchWorkerModule } from './batch-worker.module';
import { BatchStopperService } from './batches/batch-stopper.service';
import { HoldWatchService } from './batches/hold-watch.service';
import { LaneReporterService } from './batches/lane-reporter.service';
import { ManagedLaneService } from './batches/managed-lane.service';
import { PartitionKeeperService } from './batches/partition-keeper.service';
import { BatchScalingService } from './scaling/batch-scaling.service';
import { SweeperService } from './steps/sweeper.service';
import { createInference } from './create-inference';
import { NativeLaneService } from './native/native-lane.service';

/**
 * Starts the worker and returns how to stop it: it stops claiming at once, the lane finishes and commits its calls and
 * gives the rest back, then connections close.
 */
export async function start(context: AppContext<BatchWorkerEnv>): Promise<RunningApp> {
  const inference = await createInference(context.env, providerKeyVariables());
  const worker = BatchWorkerModule.for(context.env, inference);
  const root = { ...worker, imports: [PlatformModule.for(context), ...(worker.imports ?? [])] };
  const app = await NestFactory.create(root, new FastifyAdapter(), nestOptions(context));
  watchSharedKeys(inference.catalogue, inference.shared, (text) => context.logger.warn(text, 'Catalogue'));
  await app.init();
  const [lane, reporter, native, sweeper, stopper, partitions, holds] = [
    app.get(ManagedLaneService),
    app.get(LaneReporterService),
    app.get(NativeLaneService),
    app.get(SweeperService),
    app.get(BatchStopperService),
    app.get(PartitionKeeperService),
    app.get(HoldWatchService),
  ];
  const scaling = app.get(BatchScalingService);
  // Started before anything can end a batch that still has running orders.
  await native.start();
  const consumption = await consumeQueues(app, { amqpUrl: context.env.AMQP_URL, queues: [queues.batches] });
  lane.start();
  reporter.start();
  scaling.start();
  sweeper.start();
  stopper.start();
  partitions.start();
  holds.start();
  process.on('SIGHUP', () => void inference.catalogue.reload());
  context.readiness.addCheck('queues', () => consumption.isConnected());
  context.drainSteps.add('managed lane', () => lane.drain());
  context.drainSteps.addBeside('native lane', () => native.drain());
  context.drainSteps.addBeside('queues', () => consumption.drain());
  context.drainSteps.addBeside('sweeper', () => sweeper.stop());
  // Until the lane has finished, cancelled batches still have calls here.
  context.drainSteps.add('stopper', () => stopper.stop());
  return {
    stop: async () => {
      await Promise.all([partitions.stop(), holds.stop()]);
      await Promise.all([reporter.stop(), scaling.stop()]);
      await app.close();
      await inference.close();
    },
  };
}
