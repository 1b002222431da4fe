import { Module } from '@nestjs/common';
import { CreditsController } from './credits.controller';
import { CreditsService } from './credits.service';

@Module({ controllers: [CreditsController], providers: [CreditsService] })
export class CreditsModule {}
