import { Global, Module } from '@nestjs/common';
import { CallbackUrls } from './callback-urls';

/** Needs the (global) messaging module and that of the plugins, whose way to the web it shares. */
@Global()
@Module({ providers: [CallbackUrls], exports: [CallbackUrls] })
export class WebhooksModule {}
