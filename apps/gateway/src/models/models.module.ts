import { Module } from '@nestjs/common';
import { ModelListingService } from './model-listing.service';
import { ModelsController } from './models.controller';
import { ProvidersController } from './providers.controller';
import { RoutingModule } from '../routing/routing.module';

@Module({
  imports: [RoutingModule],
  controllers: [ModelsController, ProvidersController],
  providers: [ModelListingService],
})
export class ModelsModule {}
