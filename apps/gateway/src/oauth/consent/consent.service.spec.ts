import { CreateAuthorizationCode } from '@libs/contracts';
import { AppError } from '@libs/errors';
import type { AuditRepository, BegunAuditEntry, LastUses } from '@libs/persistence';
import { aPrincipal, FakeMessageBus } from '@libs/platform/testing';
import { FailedAuthentications } from '../../auth/failed-authentications';
import { readGatewayEnv } from '../../gateway.env';
import { AuthorizationCodesService } from '../authorization-codes.service';
import { ConsentService } from './consent.service';

describe(ConsentService.name, () => {
  const statuses: number[] = [];
  const audit: Pick<AuditRepository, 'beginEntry' | 'endEntry'> = {
    beginEntry: async ({ organizationId }): Promise<BegunAuditEntry> => ({ organizationId, id: '1' }),
    endEntry: async (_entry, status) => void statuses.push(status),
  };

  it('notes in the audit trail how an agreement that is refused has ended', async () => {
    const bus = new FakeMessageBus().answers(CreateAuthorizationCode, () => {
      throw new AppError('invalid_request', 'workspace_id names no workspace of the organization');
    });
    const codes = new AuthorizationCodesService(bus, readGatewayEnv({}));
    const failures = new FailedAuthentications(0);
    const consent = new ConsentService(bus, codes, audit as AuditRepository, {} as LastUses, failures);
    const ids = { requestId: 'req-1', clientRequestId: null };
    const agreement = { callbackUrl: 'https://app.example/', wanted: {} };
    const agreed = consent.agree(aPrincipal({ kind: 'management' }), ids, agreement);
    await expect(agreed).rejects.toMatchObject({ code: 'invalid_request' });
    expect(statuses).toEqual([400]);
  });
});
