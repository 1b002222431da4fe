import 'reflect-metadata';
import { runApp, startNestContext } from '@libs/platform';
import { readVideoWorkerEnv } from './video-worker.env';
import { VideoWorkerModule } from './video-worker.module';

void runApp({
  name: 'video-worker',
  readEnv: readVideoWorkerEnv,
  start: (context) => startNestContext(VideoWorkerModule, context),
});
