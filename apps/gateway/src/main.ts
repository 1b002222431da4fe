import 'reflect-metadata';
import { runApp } from '@libs/platform';
import { readGatewayEnv } from './gateway.env';
import { start } from './start';

void runApp({ name: 'gateway', readEnv: readGatewayEnv, start });
