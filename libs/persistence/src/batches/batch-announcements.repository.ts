import { Injectable } from '@nestjs/common';
import { toBatchObject } from '@libs/contracts';
import type { Session } from '../database';
import { WebhookDeliveriesRepository } from '../webhooks/webhook-deliveries.repository';
import { BATCH_VIEW_SQL, toBatchView, type BatchViewRow } from './batch-views.repository';

/** Announces the end of a batch to the webhook URL that its caller named. */
@Injectable()
export class BatchAnnouncementsRepository {
  constructor(private readonly webhooks: WebhookDeliveriesRepository) {}

  /** Stores the event in the transaction that ends the batch, so that it is sent exactly if the batch has ended. */
  async announceEnd(session: Session, id: string): Promise<void> {
    const row = await session.firstRow<BatchViewRow & { organization_id: string; workspace_id: string; url: string }>({
      name: 'batch-to-announce',
      sql: `SELECT v.*, b.organization_id, b.workspace_id, b.callback_url AS url
            FROM (${BATCH_VIEW_SQL}) v JOIN batches b ON b.id = v.id WHERE v.id = $1 AND b.callback_url IS NOT NULL`,
      values: [id],
    });
    if (row === null) return;
    const batch = toBatchView(row);
    await this.webhooks.enqueue(session, {
      id: `${id}-${batch.status}`,
      organizationId: row.organization_id,
      workspaceId: row.workspace_id,
      url: row.url,
      type: `batch.${batch.status}`,
      payload: toBatchObject(batch),
    });
  }
}
