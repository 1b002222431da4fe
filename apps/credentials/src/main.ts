import 'reflect-metadata';
import { runApp, startNestContext } from '@libs/platform';
import { readCredentialsEnv } from './credentials.env';
import { CredentialsModule } from './credentials.module';

void runApp({
  name: 'credentials',
  readEnv: readCredentialsEnv,
  start: (context) => startNestContext(CredentialsModule, context),
});
