import 'reflect-metadata';
import { runApp } from '@libs/platform';
import { readCredentialsEnv } from './credentials.env';
import { start } from './start';

void runApp({ name: 'credentials', readEnv: readCredentialsEnv, start });
