import { Global, Module } from '@nestjs/common';
import { CallbackUrls } from './callback-urls';
import { EgressModule } from '../egress.module';

/** Needs the (global) messaging module and that of the plugins, whose way to the web it shares. */
@Global()
@Module({ imports: [EgressModule], providers: [CallbackUrls], exports: [CallbackUrls] })
export class WebhooksModule {}
