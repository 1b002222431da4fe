import { Injectable } from '@nestjs/common';
import {
  CreateIssuer,
  DeleteIssuer,
  fromHttp,
  GetIssuer,
  ListIssuers,
  NewIssuerSettings,
  readPage,
  toHttp,
  UpdateIssuer,
  type CreateIssuerDto,
  type IssuerDto,
  type IssuerRecord,
  type IssuerReference,
  type PageQueryDto,
  type Principal,
  type UpdateIssuerDto,
} from '@libs/contracts';
import { AppError } from '@libs/errors';
import { MessageBus } from '@libs/platform';

const DEFAULT_PAGE = 50;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** `/workload-identity/issuers`, forwarded to the auth app for the organization of the caller's key. */
@Injectable()
export class IssuersService {
  constructor(private readonly bus: MessageBus) {}

  async list(caller: Principal, query: PageQueryDto): Promise<{ data: IssuerDto[]; total_count: number }> {
    const { organizationId } = caller;
    const page = await this.bus.call(ListIssuers, { organizationId, ...readPage(query, DEFAULT_PAGE) });
    return { data: page.issuers.map(issuerView), total_count: page.totalCount };
  }

  async create({ organizationId }: Principal, body: CreateIssuerDto): Promise<IssuerDto> {
    return issuerView(await this.bus.call(CreateIssuer, { ...fromHttp(body), organizationId }));
  }

  async get(caller: Principal, id: string): Promise<IssuerDto> {
    return issuerView(await this.bus.call(GetIssuer, ownIssuer(caller, id)));
  }

  async update(caller: Principal, id: string, body: UpdateIssuerDto): Promise<IssuerDto> {
    return issuerView(await this.bus.call(UpdateIssuer, { ...fromHttp(body), ...ownIssuer(caller, id) }));
  }

  async delete(caller: Principal, id: string): Promise<void> {
    await this.bus.call(DeleteIssuer, ownIssuer(caller, id));
  }
}

/** Text that is not a UUID names no issuer: it gets the answer for an unknown id. */
function ownIssuer({ organizationId }: Principal, id: string): IssuerReference {
  if (!UUID.test(id)) throw new AppError('not_found', 'No such issuer');
  return { organizationId, id };
}

function issuerView(issuer: IssuerRecord): IssuerDto {
  const { id, createdAt, updatedAt } = issuer;
  return { id, ...toHttp(NewIssuerSettings, issuer), created_at: createdAt, updated_at: updatedAt };
}
