import { Module } from '@nestjs/common';
import { IssuersController } from './issuers.controller';
import { IssuersService } from './issuers.service';
import { PoliciesController } from './policies.controller';
import { PoliciesService } from './policies.service';

@Module({
  controllers: [IssuersController, PoliciesController],
  providers: [IssuersService, PoliciesService],
})
export class WorkloadIdentityModule {}
