import { Module } from '@nestjs/common';
import { ModelListingService } from './model-listing.service';
import { ModelsController } from './models.controller';
import { ProvidersController } from './providers.controller';

/** Needs the (global) InferenceModule. */
@Module({ controllers: [ModelsController, ProvidersController], providers: [ModelListingService] })
export class ModelsModule {}
