/**
 * A store with as large a catalogue as one likes, in a process of its own: each product follows from its number, so
 * that nothing is held and an answer costs little. Three variants with ten stock levels in all, fields as the store
 * has them.
 */
import { createServer } from 'node:http';
import { LEAN_VARIANTS_A_PRODUCT, LEAN_WAREHOUSES } from './lean-catalogue.ts';

const PAGE = 100;
const FIRST_PRODUCT = 200_000_000_000;
const FIRST_VARIANT = 300_000_000_000;

const products = Number(process.argv[2]);
const times = { create_time: 1_735_689_600_000, update_time: 1_740_000_000_000 };

function detail(index: number): unknown {
  const id = String(FIRST_PRODUCT + index);
  const picture = (size: string) => `https://images.example.invalid/${size}/${id}/0.jpg`;
  return {
    id,
    name: `สินค้า ${index}`,
    description: 'สินค้าคุณภาพดี\nจัดส่งภายใน 24 ชั่วโมง',
    store_id: '100000000001',
    img_uris: [picture('full')],
    thumbnail_uris: [picture('thumb')],
    tiny_img_uris: [picture('tiny')],
    ...times,
    category: { id: '501', name: 'เสื้อผ้า', color: '#3366ff' },
    price_tier_ids: ['601'],
    warehouse_ids: LEAN_WAREHOUSES[2],
    min: '99.00',
    max: '199.00',
    variants: LEAN_WAREHOUSES.map((warehouses, i) => {
      const number = index * LEAN_VARIANTS_A_PRODUCT + i;
      const variantId = String(FIRST_VARIANT + number);
      const levels = warehouses.map((warehouseId, w) => {
        const onHand = 1 + ((number * 7 + w * 13) % 200);
        return { wh_id: warehouseId, on_hand: onHand, available_qty: onHand, reserved_qty: 0 };
      });
      const total = levels.reduce((sum, level) => sum + level.on_hand, 0);
      return {
        product_variant_id: variantId,
        name: `แบบที่ ${i + 1}`,
        ...times,
        sku: `SKU-${number}`,
        upc: String(8_850_000_000_000 + number),
        prices: [{ id: variantId, price_tier_id: '601', price: '149.00' }],
        cost: '80.00',
        available_qty: total,
        on_hand: total,
        reserved_qty: 0,
        warehouses: levels,
        img_url: picture('full'),
        thumbnail_url: picture('thumb'),
        tiny_img_url: picture('tiny'),
        weight: 250,
      };
    }),
  };
}

function list({ limit = 20, offset = 0 }: { readonly limit?: number; readonly offset?: number }): unknown {
  const end = Math.min(products, offset + Math.min(limit, PAGE));
  const rows = Array.from({ length: Math.max(0, end - offset) }, (_, i) => ({
    id: String(FIRST_PRODUCT + offset + i),
    name: `สินค้า ${offset + i}`,
  }));
  return { request_id: 'list', products: rows, total: products, has_more: end < products };
}

function answer(path: string, body: string): unknown {
  if (path === '/oauth/token') return { access_token: 'bench', token_type: 'Bearer', expires_in: 14_400 };
  const asked = JSON.parse(body) as { product_id?: string; limit?: number; offset?: number };
  if (path === '/v1/product/list') return list(asked);
  return { request_id: 'detail', product: detail(Number(asked.product_id) - FIRST_PRODUCT) };
}

const server = createServer((request, response) => {
  let body = '';
  request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
  request.on('end', () => {
    const json = JSON.stringify(answer(request.url ?? '', body));
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(json),
    });
    response.end(json);
  });
});
server.listen(0, '127.0.0.1', () => {
  const at = server.address();
  const port = typeof at === 'object' && at !== null ? at.port : 0;
  process.stdout.write(
    `${JSON.stringify({ msg: 'listening', webhooks: `http://127.0.0.1:${port}`, ops: '' })}\n`,
  );
});
