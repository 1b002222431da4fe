import 'reflect-metadata';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { RequestMethod, type Type } from '@nestjs/common';
import { KEY_HEADER } from '../../../apps/gateway/src/auth/access.decorators';
import { API_PREFIX, ROOT_ROUTES } from '../../../apps/gateway/src/http/edge';
import { ROUTE_ACCESS, type RouteAccess } from '../../../apps/gateway/src/http/route-access';

/** A route as the gateway's decorators describe it. */
export interface ControllerRoute {
  readonly method: string;
  /** Path with parameters as `:name`. */
  readonly path: string;
  readonly status: number;
  readonly access: RouteAccess;
  readonly takesKeyHeader: boolean;
  readonly name: string;
}

const GATEWAY = join(__dirname, '../../../apps/gateway/src');

/** Every route of every controller of the gateway, which are in files of that name. */
export function controllerRoutes(): ControllerRoute[] {
  const files = readdirSync(GATEWAY, { recursive: true, encoding: 'utf8' });
  return files
    .filter((file) => file.endsWith('.controller.js'))
    .toSorted()
    .flatMap((file) => Object.values(require(join(GATEWAY, file)) as Readonly<Record<string, Type>>))
    .filter((exported) => Reflect.getMetadata('path', exported) !== undefined)
    .flatMap(routesOf);
}

function routesOf(controller: Type): ControllerRoute[] {
  const prototype = controller.prototype as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap((name) => {
    const handler = Object.getOwnPropertyDescriptor(prototype, name)?.value as unknown;
    const isRoute = typeof handler === 'function' && Reflect.hasMetadata('method', handler);
    return isRoute ? [routeOf(controller, name, handler)] : [];
  });
}

function routeOf(controller: Type, name: string, handler: Function): ControllerRoute {
  /** A decorator on the method has precedence over one on its class. */
  const read = <T>(key: string | symbol, otherwise: T): T =>
    (Reflect.getMetadata(key, handler) ?? Reflect.getMetadata(key, controller) ?? otherwise) as T;
  const method = Reflect.getMetadata('method', handler) as RequestMethod;
  return {
    method: RequestMethod[method],
    path: pathOf(Reflect.getMetadata('path', controller), Reflect.getMetadata('path', handler)),
    status: read('__httpCode__', method === RequestMethod.POST ? 201 : 200),
    access: read<RouteAccess>(ROUTE_ACCESS, 'inference'),
    takesKeyHeader: read(KEY_HEADER, false),
    name: `${controller.name.replace(/Controller$/, '')}_${name}`,
  };
}

function pathOf(...parts: readonly string[]): string {
  const segments = parts.flatMap((part) => part.split('/')).filter((segment) => segment !== '');
  const path = segments.join('/');
  return ROOT_ROUTES.includes(path) ? `/${path}` : `${API_PREFIX}/${path}`;
}
