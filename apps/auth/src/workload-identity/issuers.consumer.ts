import { Controller } from '@nestjs/common';
import {
  CreateIssuer,
  CreateIssuerRequest,
  DeleteIssuer,
  GetIssuer,
  IssuerReference,
  ListIssuers,
  ListIssuersRequest,
  UpdateIssuer,
  UpdateIssuerRequest,
  type IssuerDeleted,
  type IssuerRecord,
  type ListIssuersResponse,
} from '@libs/contracts';
import { Handles } from '@libs/platform';
import { IssuersService } from './issuers.service';

@Controller()
export class IssuersConsumer {
  constructor(private readonly issuers: IssuersService) {}

  @Handles(CreateIssuer)
  create(request: CreateIssuerRequest): Promise<IssuerRecord> {
    return this.issuers.create(request);
  }

  @Handles(ListIssuers)
  list(request: ListIssuersRequest): Promise<ListIssuersResponse> {
    return this.issuers.list(request);
  }

  @Handles(GetIssuer)
  get(reference: IssuerReference): Promise<IssuerRecord> {
    return this.issuers.get(reference);
  }

  @Handles(UpdateIssuer)
  update(request: UpdateIssuerRequest): Promise<IssuerRecord> {
    return this.issuers.update(request);
  }

  @Handles(DeleteIssuer)
  delete(reference: IssuerReference): Promise<IssuerDeleted> {
    return this.issuers.delete(reference);
  }
}
