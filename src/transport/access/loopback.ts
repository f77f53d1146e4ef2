import { isIP } from 'node:net';

/** Whether an address reaches this machine alone. */
export function isLoopback(address: string): boolean {
  return /^(127\.|::1$|::ffff:127\.|localhost$)/.test(address);
}

/**
 * Whether a `Host` header names an address, or this machine itself. Any other name may be one that a page elsewhere has
 * pointed at this machine, so that browsers take it for the page's own server (DNS rebinding).
 */
export function isAddressOrLocalhost(host = ''): boolean {
  const name = hostName(host);
  return name !== undefined && (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || /(^|\.)localhost$/.test(name));
}

/** The name in a `Host` header, in lower case and without the port. */
export function hostName(host: string): string | undefined {
  return URL.canParse(`http://${host}`) ? new URL(`http://${host}`).hostname : undefined;
}
