/** One difference in the ledger. Amounts are exact decimal strings in US dollars. */
export interface LedgerFinding {
  /** Kind of row with the difference. */
  readonly kind: 'account' | 'key' | 'key_day' | 'workspace' | 'charge' | 'transfer' | 'batch' | 'video';
  /** Account, hash of the key (and day), workspace, reference of the charge or transfer, batch or video. */
  readonly id: string;
  /** The column or the comparison that differs. */
  readonly figure: string;
  readonly foundUsd: string;
  readonly expectedUsd: string;
}

/** The first findings of a comparison, at most 1,000, and figures of all of them. */
export interface FindingPage {
  readonly findings: readonly LedgerFinding[];
  readonly count: number;
  /** Sum of the differences, without their signs. */
  readonly driftPicousd: bigint;
}

export const MOST_FINDINGS = 1_000;

/** A row that a statement of `reportSql` returns. */
export interface FindingRow extends LedgerFinding {
  readonly picousd: string;
  readonly count: number;
  readonly driftPicousd: string;
}

/**
 * SQL for the page of `differences`, a query with `kind`, `id`, `figure`, `found` and `expected`. `found` and
 * `expected` differ or belong to different owners.
 */
export function reportSql(differences: string): string {
  return `
    SELECT kind, id, figure, found::numeric(38,12)::text AS "foundUsd", expected::numeric(38,12)::text AS "expectedUsd",
           count(*) OVER ()::integer AS count, sum(picousd) OVER ()::numeric(50,0)::text AS "driftPicousd"
    FROM (
      SELECT d.*, CASE WHEN found = expected THEN abs(found) ELSE abs(found - expected) END * 1e12 AS picousd
      FROM (${differences}) d
    ) measured
    ORDER BY kind, id, figure LIMIT ${MOST_FINDINGS}`;
}

export const NOTHING_FOUND: FindingPage = { findings: [], count: 0, driftPicousd: 0n };

export function pageOf(rows: readonly FindingRow[]): FindingPage {
  const [first] = rows;
  if (first === undefined) return NOTHING_FOUND;
  const findings = rows.map(({ kind, id, figure, foundUsd, expectedUsd }) => ({
    kind,
    id,
    figure,
    foundUsd,
    expectedUsd,
  }));
  return { findings, count: first.count, driftPicousd: BigInt(first.driftPicousd) };
}

/** Joins several pages; findings that occur in several of them are listed once. */
export function merged(pages: readonly FindingPage[]): FindingPage {
  const byName = new Map(pages.flatMap(({ findings }) => findings).map((finding) => [nameOf(finding), finding]));
  const findings = [...byName.values()];
  const unlisted = pages.reduce((sum, page) => sum + page.count - page.findings.length, 0);
  const unlistedPicousd = pages.reduce((sum, page) => sum + page.driftPicousd - driftOf(page.findings), 0n);
  return {
    findings: findings.slice(0, MOST_FINDINGS),
    count: findings.length + unlisted,
    driftPicousd: driftOf(findings) + unlistedPicousd,
  };
}

export function driftOf(findings: readonly LedgerFinding[]): bigint {
  return findings.reduce((sum, { foundUsd, expectedUsd }) => {
    const [found, expected] = [picoUsd(foundUsd), picoUsd(expectedUsd)];
    return sum + absolute(found === expected ? found : found - expected);
  }, 0n);
}

function nameOf({ kind, id, figure }: LedgerFinding): string {
  return `${kind} ${id} ${figure}`;
}

/** Reads a decimal with all twelve digits, as PostgreSQL writes `numeric(38,12)`. */
function picoUsd(usd: string): bigint {
  return BigInt(usd.replace('.', ''));
}

function absolute(amount: bigint): bigint {
  return amount < 0n ? -amount : amount;
}
