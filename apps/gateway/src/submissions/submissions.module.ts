import { Module } from '@nestjs/common';
import { IntakeTurns } from './intake-turns';

/** Batches and videos that are taken in share their connections to PostgreSQL. */
@Module({ providers: [IntakeTurns], exports: [IntakeTurns] })
export class SubmissionsModule {}
