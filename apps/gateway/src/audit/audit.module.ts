import { Module } from '@nestjs/common';
import { APP_INTERCEPTOR } from '@nestjs/core';
import { AuditInterceptor } from './audit.interceptor';

/** Writes down what is done with management keys. Needs the (global) persistence module. */
@Module({ providers: [{ provide: APP_INTERCEPTOR, useClass: AuditInterceptor }] })
export class AuditModule {}
