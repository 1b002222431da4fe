import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';

const root = resolve(__dirname, '..');
const RULES = '.dependency-cruiser.cjs';
const CIRCLES = '.dependency-circles.cjs';

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

/** A tree that keeps every rule, and that the planted files below can import from. */
const lawfulTree: Readonly<Record<string, string>> = {
  'libs/errors/src/index.ts': `export * from './app-error';`,
  'libs/errors/src/app-error.ts': `export class AppError extends Error {}`,
  'libs/contracts/src/index.ts': `import '@libs/errors'; import 'class-validator'; export * from './words';`,
  'libs/contracts/src/words.ts': `import { inspect } from 'node:util'; export const words = inspect;`,
  'libs/inference/src/index.ts': `import '@libs/contracts'; import 'undici'; export * from './engine/engine';`,
  'libs/json/src/index.ts': `export const cursor = 1;`,
  'libs/inference/src/pricing/price.ts': `import '@libs/json'; export const price = 1;`,
  'libs/inference/src/catalogue/catalogue.ts': `import '../pricing/price'; export interface Endpoint {}`,
  'libs/inference/src/model/request.ts': `import type { Endpoint } from '../catalogue/catalogue'; export type At = Endpoint;`,
  'libs/inference/src/wire/call.ts': `import '../model/request'; export const call = 1;`,
  'libs/inference/src/wire/call.spec.ts': `import './call'; import '../engine/engine';`,
  'libs/inference/src/dialects/chat.ts': `import '../wire/call'; export const chat = 1;`,
  'libs/inference/src/audio/bytes.ts': `import '../wire/call'; export const bytes = 1;`,
  'libs/inference/src/videos/video.ts': `import '../wire/call'; export const video = 1;`,
  'libs/inference/src/apis/chat.ts': `import '../dialects/chat'; export const api = 1;`,
  'libs/inference/src/providers/adapter.ts': `import '../apis/chat'; import '../dialects/chat'; import '../audio/bytes'; import '../videos/video';`,
  'libs/inference/src/routing/plan.ts': `import '../providers/adapter'; export const plan = 1;`,
  'libs/inference/src/engine/engine.ts': `import '../routing/plan'; export const engine = 1;`,
  'libs/inference/src/testing/index.ts': `export const fake = 1;`,
  'libs/persistence/src/index.ts': `import 'typeorm'; import '@libs/errors';`,
  'libs/platform/src/index.ts': `import './messaging/bus'; import '@nestjs/common';`,
  'libs/platform/src/messaging/bus.ts': `import 'amqplib'; import '@nestjs/microservices';`,
  'apps/auth/src/keys/keys.controller.ts': `import './keys.service'; import '@nestjs/common';`,
  'apps/auth/src/keys/keys.service.ts': `import './keys.repository'; import '@libs/inference';`,
  'apps/auth/src/keys/keys.repository.ts': `import 'typeorm'; import './key.entity';`,
  'apps/auth/src/keys/key.entity.ts': `import 'typeorm';`,
  'apps/auth/src/keys/keys.guard.ts': `export const guard = 1;`,
  'apps/auth/src/keys/keys.service.spec.ts': `import './keys.service'; import '@libs/inference/testing';`,
  'apps/gateway/src/redis-limiter.ts': `import 'ioredis';`,
  'scripts/up.ts': `import 'ioredis'; import 'amqplib'; import '@libs/errors';`,
  'tools/cli/src/main.ts': `export const main = 1;`,
};

const planted: ReadonlyArray<readonly [rule: string, file: string, text: string]> = [
  ['lib-errors-imports-only-nothing', 'libs/errors/src/a.ts', `import '@libs/contracts';`],
  ['errors-has-no-dependency', 'libs/errors/src/b.ts', `import 'node:util';`],
  ['errors-has-no-dependency', 'libs/errors/src/c.ts', `import 'undici';`],
  ['lib-contracts-imports-only-errors', 'libs/contracts/src/a.ts', `import '@libs/platform';`],
  ['lib-failpoints-imports-only-nothing', 'libs/failpoints/src/a.ts', `import '@libs/errors';`],
  ['contracts-packages', 'libs/contracts/src/b.ts', `import 'undici';`],
  ['lib-json-imports-only-nothing', 'libs/json/src/a.ts', `import '@libs/errors';`],
  [
    'lib-inference-imports-only-contracts-and-errors-and-json',
    'libs/inference/src/a.ts',
    `import '@libs/persistence';`,
  ],
  [
    'lib-persistence-imports-only-contracts-and-errors-and-failpoints',
    'libs/persistence/src/a.ts',
    `import '@libs/platform';`,
  ],
  [
    'lib-platform-imports-only-contracts-and-errors-and-failpoints',
    'libs/platform/src/a.ts',
    `import '@libs/inference';`,
  ],
  ['libs-know-only-libs', 'libs/platform/src/b.ts', `import '../../../tools/cli/src/main';`],
  ['apps-never-import-apps', 'apps/gateway/src/a.ts', `import '../../auth/src/keys/keys.guard';`],
  ['apps-import-libs-only', 'apps/gateway/src/b.ts', `import '../../../scripts/up';`],
  ['libs-through-their-index', 'apps/gateway/src/c.ts', `import '../../../libs/inference/src/engine/engine';`],
  ['libs-through-their-index', 'libs/contracts/src/c.ts', `import '../../errors/src/app-error';`],
  ['libs-through-their-index-from-the-top', 'scripts/a.ts', `import '../libs/inference/src/engine/engine';`],
  ['testing-is-for-tests', 'apps/gateway/src/d.ts', `import '@libs/inference/testing';`],
  ['no-cycles', 'apps/gateway/src/e.ts', `import type { OtherHalf } from './other-half'; export type A = OtherHalf;`],
  ['entrances-do-not-reach-adapters', 'apps/auth/src/keys/a.controller.ts', `import './keys.repository';`],
  ['entrances-do-not-reach-adapters', 'apps/auth/src/keys/a.consumer.ts', `import { type K } from './key.entity';`],
  ['decisions-do-not-know-entrances', 'apps/auth/src/keys/b.service.ts', `import './keys.guard';`],
  ['decisions-do-not-know-entrances', 'apps/auth/src/keys/b.repository.ts', `import './keys.controller';`],
  ['adapters-do-not-know-services', 'apps/auth/src/keys/c.provider.ts', `import './keys.service';`],
  ['typeorm-only-in-persistence', 'apps/auth/src/keys/d.service.ts', `import type { DataSource } from 'typeorm';`],
  ['broker-only-in-messaging', 'apps/auth/src/a.ts', `import type { Channel } from 'amqplib';`],
  ['broker-only-in-messaging', 'libs/platform/src/c.ts', `export * from '@nestjs/microservices';`],
  ['redis-only-in-its-adapters', 'apps/gateway/src/g.ts', `export const redis = () => import('ioredis');`],
  ['telemetry-sdk-only-in-telemetry', 'apps/gateway/src/i.ts', `import { trace } from '@opentelemetry/api';`],
  ['no-nest-in-plain-libs', 'libs/inference/src/b.ts', `import { Injectable } from '@nestjs/common';`],
  ['inference-pricing-imports-only-lower-layers', 'libs/inference/src/pricing/a.ts', `import '../model/request';`],
  [
    'inference-catalogue-imports-only-lower-layers',
    'libs/inference/src/catalogue/a.ts',
    `import type { At } from '../model/request'; export type A = At;`,
  ],
  ['inference-model-imports-only-lower-layers', 'libs/inference/src/model/a.ts', `import '../dialects/chat';`],
  ['inference-wire-imports-only-lower-layers', 'libs/inference/src/wire/a.ts', `import '../providers/adapter';`],
  ['inference-media-imports-only-lower-layers', 'libs/inference/src/media/a.ts', `import '../pricing/price';`],
  ['inference-dialects-imports-only-lower-layers', 'libs/inference/src/dialects/a.ts', `import '../audio/bytes';`],
  ['inference-audio-imports-only-lower-layers', 'libs/inference/src/audio/a.ts', `import '../dialects/chat';`],
  ['inference-videos-imports-only-lower-layers', 'libs/inference/src/videos/a.ts', `import '../audio/bytes';`],
  ['inference-apis-imports-only-lower-layers', 'libs/inference/src/apis/a.ts', `import '../providers/adapter';`],
  ['inference-providers-imports-only-lower-layers', 'libs/inference/src/providers/a.ts', `import '../routing/plan';`],
  ['inference-routing-imports-only-lower-layers', 'libs/inference/src/routing/a.ts', `import '../engine/engine';`],
  ['inference-engine-imports-only-lower-layers', 'libs/inference/src/engine/a.ts', `import '../index';`],
  ['inference-has-only-layers', 'libs/inference/src/clocks/a.ts', `import '../pricing/price';`],
  ['every-import-resolves', 'apps/gateway/src/h.ts', `import '@libs/utilities';`],
];

describe('the dependency rules', () => {
  const folders: string[] = [];

  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const plant = (files: Readonly<Record<string, string>>): string => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'));
    folders.push(folder);
    mkdirSync(join(folder, 'scripts'));
    for (const config of [RULES, CIRCLES, 'scripts/dependency-resolution.cjs', 'package.json']) {
      copyFileSync(join(root, config), join(folder, config));
    }
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      writeFileSync(join(folder, file), text);
    }
    return folder;
  };

  const violationsOf = (files: Readonly<Record<string, string>>, config = RULES): Violation[] => {
    const cruiser = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruiser.mjs');
    const run = spawnSync(
      process.execPath,
      [cruiser, '--config', config, '-T', 'json', 'apps', 'libs', 'tools', 'scripts'],
      { cwd: plant(files), encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 },
    );
    const report = JSON.parse(run.stdout) as { summary: { violations: Violation[] } };
    return report.summary.violations;
  };

  it('accept a tree that keeps them', () => {
    expect(violationsOf(lawfulTree)).toEqual([]);
  });

  describe('bite', () => {
    let found: Violation[];

    beforeAll(() => {
      found = violationsOf({
        ...lawfulTree,
        'apps/gateway/src/other-half.ts': `import type { A } from './e'; export type OtherHalf = A | 1;`,
        ...Object.fromEntries(planted.map(([, file, text]) => [file, text])),
      });
    });

    it.each(planted)('%s, on %s', (rule, file) => {
      expect(found.filter((violation) => violation.from === file).map((violation) => violation.rule.name)).toContain(
        rule,
      );
    });

    it('leave no rule without a planted violation', () => {
      // eslint-disable-next-line @typescript-eslint/no-require-imports
      const { forbidden } = require(join(root, RULES)) as { forbidden: Array<{ name: string }> };
      const proven = new Set(planted.map(([rule]) => rule));
      expect(forbidden.map(({ name }) => name).filter((name) => !proven.has(name))).toEqual([]);
    });
  });

  describe('on circles of folders in an app', () => {
    const fromFolders = (files: Readonly<Record<string, string>>): string[] =>
      violationsOf({ ...lawfulTree, ...files }, CIRCLES).map(({ from }) => from.replace('apps/gateway/src/', ''));

    /** As every app has it: the module at the top imports the folders, and they import the environment next to it. */
    const top = {
      'apps/gateway/src/gateway.env.ts': `export const env = 1;`,
      'apps/gateway/src/gateway.module.ts': `import './keys/keys'; import './limits/limits'; import './gateway.env';`,
    };

    it('accept folders in an order, parts of one folder, and specs', () => {
      const found = fromFolders({
        ...top,
        'apps/gateway/src/keys/keys.ts': `import '../limits/limits'; import './formats/format'; import '../gateway.env';`,
        'apps/gateway/src/keys/key.ts': `export const key = 1;`,
        'apps/gateway/src/keys/formats/format.ts': `import '../key';`,
        'apps/gateway/src/limits/limits.ts': `import '../gateway.env'; export const limits = 1;`,
        'apps/gateway/src/limits/limits.spec.ts': `import '../keys/keys';`,
      });
      expect(found).toEqual([]);
    });

    it('find two folders that import each other, each by another file and one by a type', () => {
      const found = fromFolders({
        ...top,
        'apps/gateway/src/keys/keys.ts': `import '../limits/limits';`,
        'apps/gateway/src/keys/key.ts': `export interface Key {}`,
        'apps/gateway/src/limits/limits.ts': `export const limits = 1;`,
        'apps/gateway/src/limits/limit.ts': `import type { Key } from '../keys/key'; export type Limit = Key;`,
      });
      expect(found.toSorted()).toEqual(['keys', 'limits']);
    });

    it('find a circle of three folders, also where one is nested', () => {
      const found = fromFolders({
        ...top,
        'apps/gateway/src/keys/keys.ts': `import '../limits/limits';`,
        'apps/gateway/src/keys/formats/format.ts': `import '../keys';`,
        'apps/gateway/src/limits/limits.ts': `import '../audits/audit';`,
        'apps/gateway/src/audits/audit.ts': `export const audit = 1;`,
        'apps/gateway/src/audits/entry.ts': `import '../keys/formats/format';`,
      });
      expect(found).toEqual(expect.arrayContaining(['audits', 'limits']));
    });
  });
});
