import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import {
  givenFields,
  IssuerRecord,
  IssuerSettings,
  NewIssuerSettings,
  recordOf,
  type CreateIssuerRequest,
  type IssuerDeleted,
  type IssuerReference,
  type ListIssuersRequest,
  type ListIssuersResponse,
  type UpdateIssuerRequest,
} from '@libs/contracts';
import { Egress } from '@libs/platform';
import type { IdentityIssuerEntity } from './identity-issuer.entity';
import { IssuersRepository } from './issuers.repository';

/**
 * The issuers whose tokens an organization trusts. Their URLs are checked when they are stored, and again when they are
 * called.
 */
@Injectable()
export class IssuersService {
  constructor(
    private readonly repository: IssuersRepository,
    private readonly egress: Egress,
  ) {}

  async create(request: CreateIssuerRequest): Promise<IssuerRecord> {
    this.judgeUrls(request);
    const { organizationId } = request;
    const issuer = { ...givenFields(NewIssuerSettings, request), id: randomUUID(), organizationId };
    return toRecord(await this.repository.insertIssuer(issuer));
  }

  async list(request: ListIssuersRequest): Promise<ListIssuersResponse> {
    const { issuers, totalCount } = await this.repository.findIssuers(request);
    return { issuers: issuers.map(toRecord), totalCount };
  }

  async get(reference: IssuerReference): Promise<IssuerRecord> {
    return toRecord(await this.repository.getIssuer(reference));
  }

  async update(request: UpdateIssuerRequest): Promise<IssuerRecord> {
    this.judgeUrls(request);
    return toRecord(await this.repository.updateIssuer(request, givenFields(IssuerSettings, request)));
  }

  async delete(reference: IssuerReference): Promise<IssuerDeleted> {
    await this.repository.deleteIssuer(reference);
    return { deleted: true };
  }

  private judgeUrls({ issuerUrl, jwksUrl }: { issuerUrl?: string; jwksUrl?: string | null }): void {
    if (issuerUrl !== undefined) this.egress.check(issuerUrl, 'issuer_url');
    if (typeof jwksUrl === 'string') this.egress.check(jwksUrl, 'jwks_url');
  }
}

function toRecord(issuer: IdentityIssuerEntity): IssuerRecord {
  return recordOf(IssuerRecord, issuer);
}
