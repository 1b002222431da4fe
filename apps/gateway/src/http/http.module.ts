import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { BodyGuard } from './body.guard';

/** Must be imported after the AuthModule: guards run in the order of their modules. */
@Module({ providers: [{ provide: APP_GUARD, useClass: BodyGuard }] })
export class HttpModule {}
