import { setImmediate as nextTurn } from 'node:timers/promises';
import { Injectable, Logger } from '@nestjs/common';
import { AppError } from '@libs/errors';
import {
  API_OF_BATCH,
  APIS,
  CatalogueSource,
  isBatchEndpoint,
  NativeBatchCaller,
  sellsTool,
  type Api,
  type ApiDefinition,
} from '@libs/inference';
import { BatchesRepository, type BatchLine, type BatchWork, type Session } from '@libs/persistence';
import { ServicesEnv, validateInstance } from '@libs/platform';
import { NativeChoiceService } from '../native/native-choice.service';
import { BatchLineRules, type BatchRoute } from '../batches/batch-line-rules';
import { reportInconsistent } from '../batches/inconsistent-batches';

const LEASE_MS = 60_000;
/** Lines per page; reading and checking a page takes much less time than the lease. */
const PAGE = { lines: 256, bytes: 8 * 1024 * 1024 };
/** After this time, other work of the process gets a turn before the next line, because lines may be large. */
const LONGEST_TURN_MS = 10;

type BodyClass = ApiDefinition['body'];

interface Checked {
  /** The first invalid line and what is wrong with it; null if all lines are valid. */
  readonly problem: string | null;
  /** True if the problem is our fault: lines were lost. */
  readonly isLoss?: boolean;
  /** Number of inputs in each line of embeddings; empty for other APIs. */
  readonly embedded: readonly number[];
}

type FoundProblem = Omit<Checked, 'embedded'>;

/**
 * Validates every line of an accepted batch against its endpoint's format and the rules of batches. The first invalid
 * line fails the batch before anything ran: nothing is charged and the hold is released.
 */
@Injectable()
export class BatchValidationService {
  private readonly logger = new Logger(BatchValidationService.name);

  constructor(
    private readonly batches: BatchesRepository,
    private readonly choice: NativeChoiceService,
    private readonly catalogue: CatalogueSource,
    private readonly caller: NativeBatchCaller,
    private readonly env: ServicesEnv,
  ) {}

  /** Does nothing for a batch that is not waiting for validation or that another worker is validating. */
  async validateIfDue(batchId: string): Promise<void> {
    const work = await this.batches.claimValidation(batchId, LEASE_MS);
    if (work === null) return;
    const { problem, isLoss, embedded } = await this.check(work);
    if (problem === null) {
      const assign = (session: Session): Promise<void> => this.choice.assign(session, work.number, embedded);
      const begun = await this.batches.beginProgress(work, assign);
      if (begun) this.logger.log(`batch ${batchId} is in progress: ${work.total} lines`);
    } else if (await this.batches.failValidation(work, problem)) {
      if (isLoss === true) reportInconsistent(this.logger, { id: batchId, foundAt: 'validation', problem });
      else this.logger.log(`batch ${batchId} failed validation`);
    }
  }

  private async check(work: BatchWork): Promise<Checked> {
    if (!isBatchEndpoint(work.endpoint)) {
      return { problem: `Requests on ${work.endpoint} cannot be run`, embedded: [] };
    }
    const api = API_OF_BATCH[work.endpoint];
    const rules = new BatchLineRules(this.routeOf(work, api));
    return { ...(await this.findProblem(work, APIS[api].body, rules)), embedded: rules.embedded };
  }

  /** Reads all lines, whose numbers must be exactly 0…total−1. */
  private async findProblem(work: BatchWork, Body: BodyClass, rules: BatchLineRules): Promise<FoundProblem> {
    let count = 0;
    for (;;) {
      const lines = await this.batches.linesAfter(work, count - 1, PAGE);
      let turnEndsMs = performance.now() + LONGEST_TURN_MS;
      for (const line of lines) {
        if (performance.now() > turnEndsMs) {
          await nextTurn();
          turnEndsMs = performance.now() + LONGEST_TURN_MS;
        }
        if (line.seq !== count) return lossAt(work, count);
        const problem = findLineProblem(Body, rules, line.body, work.model);
        if (problem !== null) return { problem: `requests[${line.seq}].body: ${problem}` };
        count += 1;
      }
      if (count > work.total) return lossAt(work, count);
      if (isLastPage(lines)) return count === work.total ? { problem: null } : lossAt(work, count);
      if (!(await this.batches.renewValidation(work, LEASE_MS))) {
        throw new AppError('conflict', 'The batch is validated by another worker');
      }
    }
  }

  private routeOf({ model, provider: slug, isOwnKey }: BatchWork, api: Api): BatchRoute {
    const endpoints = this.catalogue.current().findModel(model)?.endpoints ?? [];
    const ofProvider = endpoints.filter(({ provider }) => provider.slug === slug);
    return {
      api,
      rules: ofProvider[0] ? this.caller.rulesOf(ofProvider[0]) : {},
      isNative: ofProvider.length === 0 || ofProvider.some(({ apis }) => apis.includes(api)),
      serviceName: this.env.SERVICE_NAME,
      isOwnKey,
      allowsTool: (tool) => isOwnKey || ofProvider.every((endpoint) => sellsTool(endpoint, api, tool)),
    };
  }
}

/** Returns whether the page is the last one: it is not full. */
function isLastPage(lines: readonly BatchLine[]): boolean {
  const bytes = lines.reduce((sum, { body }) => sum + body.length, 0);
  return lines.length < PAGE.lines && bytes < PAGE.bytes;
}

/** @param count number of lines from the first on, without a gap */
function lossAt({ total }: BatchWork, count: number): FoundProblem {
  const problem =
    count < total
      ? `requests[${count}] is not there: the service lost it. Nothing was run`
      : `There are more than the ${total} requests of the batch: the service made a mistake. Nothing was run`;
  return { problem, isLoss: true };
}

/** A line may omit the model, which then is that of its batch. */
function findLineProblem(Body: BodyClass, rules: BatchLineRules, json: Buffer, model: string): string | null {
  try {
    const body = JSON.parse(json.toString()) as Readonly<Record<string, unknown>>;
    // Checked before the fields, because it limits the number of links that they check again.
    const link = BatchLineRules.findLinkProblem(body);
    if (link !== null) return link;
    validateInstance(Body, { ...body, model: body['model'] ?? model });
    return rules.findProblem(body);
  } catch (error) {
    if (error instanceof AppError && error.code === 'invalid_request') return error.message;
    throw error;
  }
}
