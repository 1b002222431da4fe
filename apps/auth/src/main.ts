import 'reflect-metadata';
import { runApp } from '@libs/platform';
import { readAuthEnv } from './auth.env';
import { start } from './start';

void runApp({ name: 'auth', readEnv: readAuthEnv, start });
