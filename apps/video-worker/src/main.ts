import 'reflect-metadata';
import { runApp } from '@libs/platform';
import { start } from './start';
import { readVideoWorkerEnv } from './video-worker.env';

void runApp({ name: 'video-worker', readEnv: readVideoWorkerEnv, start });
