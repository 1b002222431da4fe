import 'reflect-metadata';
import { runApp } from '@libs/platform';
import { readBatchWorkerEnv } from './batch-worker.env';
import { start } from './start';

void runApp({ name: 'batch-worker', readEnv: readBatchWorkerEnv, start });
