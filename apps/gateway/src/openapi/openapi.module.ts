import { Module } from '@nestjs/common';
import { OpenapiController } from './openapi.controller';
import { ReferencePageController } from './reference-page.controller';

@Module({ controllers: [OpenapiController, ReferencePageController] })
export class OpenapiModule {}
