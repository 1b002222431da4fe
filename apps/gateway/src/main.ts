import 'reflect-metadata';
import { runApp } from '@libs/platform';
import { readGatewayEnv } from './gateway.env';
import { limitProcessMemory } from './process-memory';
import { start } from './start';

limitProcessMemory();
void runApp({ name: 'gateway', readEnv: readGatewayEnv, start });
