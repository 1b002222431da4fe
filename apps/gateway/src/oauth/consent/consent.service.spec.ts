import { CreateAuthorizationCode, hashOfSecret } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { AuditRepository, BegunAuditEntry, LastUses } from '@libs/persistence';
import { aPrincipal, FakeMessageBus } from '@libs/platform/testing';
import { FailedAuthentications } from '../../auth/failed-authentications';
import { readGatewayEnv } from '../../gateway.env';
import { AuthorizationCodesService } from '../authorization-codes.service';
import { ConsentService } from './consent.service';

describe(ConsentService.name, () => {
  const ends: unknown[] = [];
  const audit: Pick<AuditRepository, 'beginEntry' | 'endEntry'> = {
    beginEntry: async ({ organizationId }): Promise<BegunAuditEntry> => ({ organizationId, id: '1' }),
    endEntry: async (_entry, status, created) => void ends.push([status, created]),
  };

  const agreeTo = (bus: FakeMessageBus): Promise<string> => {
    const codes = new AuthorizationCodesService(bus, readGatewayEnv({}));
    const failures = new FailedAuthentications(0);
    const consent = new ConsentService(bus, codes, audit as AuditRepository, {} as LastUses, failures);
    const ids = { requestId: 'req-1', clientRequestId: null };
    const agreement = { callbackUrl: 'https://app.example/', wanted: {} };
    return consent.agree(aPrincipal({ kind: 'management' }), ids, agreement);
  };

  beforeEach(() => void ends.splice(0));

  it('notes in the audit trail how an agreement that is refused has ended', async () => {
    const bus = new FakeMessageBus().answers(CreateAuthorizationCode, () => {
      throw new AppError('invalid_request', 'workspace_id names no workspace of the organization');
    });
    await expect(agreeTo(bus)).rejects.toMatchObject({ code: 'invalid_request' });
    expect(ends).toEqual([[400, undefined]]);
  });

  it('notes in the audit trail which code an agreement gave, by its hash', async () => {
    const made = { appId: 1, createdAt: '2026-01-01T00:00:00.000Z' };
    const code = await agreeTo(new FakeMessageBus().answers(CreateAuthorizationCode, () => made));
    expect(ends).toEqual([[200, hashOfSecret(code)]]);
  });
});
