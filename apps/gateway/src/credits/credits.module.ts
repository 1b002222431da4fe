import { Module } from '@nestjs/common';
import { CreditsController } from './credits.controller';
import { CreditsService } from './credits.service';

/** Needs the (global) persistence module. */
@Module({ controllers: [CreditsController], providers: [CreditsService] })
export class CreditsModule {}
