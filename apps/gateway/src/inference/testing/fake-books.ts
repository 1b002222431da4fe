import { AppError } from '@libs/errors';
import type {
  GenerationOpening,
  GenerationSettlement,
  GenerationView,
  HoldRefusal,
  OpeningVerdict,
  WorkspaceTenant,
} from '@libs/persistence';

/** Records what is opened and settled. There is money unless a test says otherwise. */
export class FakeBooks {
  readonly opened: GenerationOpening[] = [];
  readonly settled: GenerationSettlement[] = [];
  isBroke = false;
  /** What calls were held more for, and how often that is granted. */
  readonly extensions: string[] = [];
  extensionsLeft = Number.POSITIVE_INFINITY;
  gate: Promise<void> = Promise.resolve();

  async open(openings: readonly GenerationOpening[]): Promise<OpeningVerdict[]> {
    this.opened.push(...openings);
    await this.gate;
    return openings.map(() =>
      this.isBroke ? { refusedBy: 'credits' } : { refusedBy: null, availableUsd: '1000', keyLeftUsd: null },
    );
  }

  async extend(_call: unknown, amountUsd: string): Promise<HoldRefusal | null> {
    this.extensions.push(amountUsd);
    this.extensionsLeft -= 1;
    return this.extensionsLeft >= 0 ? null : 'credits';
  }

  async lockedAmong(): Promise<ReadonlySet<string>> {
    return new Set();
  }

  async refusal(_call: unknown, by: HoldRefusal, amountUsd: string): Promise<AppError> {
    return new AppError('payment_required', 'Insufficient credits', {
      metadata: { limit: by, reserved_usd: amountUsd },
    });
  }

  async settle(settlements: readonly GenerationSettlement[]): Promise<number> {
    this.settled.push(...settlements);
    return settlements.length;
  }

  async find(id: string, createdOn: string, tenant: WorkspaceTenant): Promise<GenerationView | null> {
    const call = this.settled.find((one) => one.id === id && one.createdOn === createdOn);
    if (call?.workspaceId !== tenant.workspaceId) return null;
    return { ...call, state: 'settled', createdAt: new Date(1_763_715_600_000) };
  }
}
