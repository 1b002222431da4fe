import { Module } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { MessageBus } from '@libs/platform';
import { BearerGuard } from './bearer.guard';
import { KeyDirectory } from './key-directory';

/** Puts the guard before every route of the app. Needs the (global) messaging module. */
@Module({
  providers: [
    { provide: KeyDirectory, useFactory: (bus: MessageBus) => new KeyDirectory(bus), inject: [MessageBus] },
    { provide: APP_GUARD, useClass: BearerGuard },
  ],
  exports: [KeyDirectory],
})
export class AuthModule {}
