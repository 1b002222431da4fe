import { Module } from '@nestjs/common';
import { CallbackUrls } from './callback-urls';
import { EgressModule } from '../egress.module';

@Module({ imports: [EgressModule], providers: [CallbackUrls], exports: [CallbackUrls] })
export class WebhooksModule {}
