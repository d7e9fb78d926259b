export const productNames = [
  'เสื้อยืดคอกลม',
  'กางเกงยีนส์ขายาว',
  'แก้วเก็บความเย็น 20oz',
  'หมอนรองคอเมมโมรี่โฟม',
  'น้ำปลาแท้ ตราคลื่น',
  'ครีมกันแดด SPF50+',
  'ข้าวหอมมะลิ 5 กก.',
  'กระเป๋าผ้า "รักษ์โลก"',
  'สบู่สมุนไพร',
  'ชาเขียวมัทฉะ',
  'Cotton Tote',
  'Desk Lamp',
  'USB-C Cable 1m',
  "Men's Sandals",
  'กาแฟดริป 10 ซอง',
  'ผ้าขนหนูนาโน',
] as const;

export const variantNames = [
  'แดง / S',
  'แดง / M',
  'ดำ / M',
  'ดำ / L',
  'ขาว',
  'กรมท่า',
  '250 มล.',
  '1 ลิตร',
] as const;

export const categories = [
  { id: '719000000000000101', name: 'เสื้อผ้า', color: '#d9480f' },
  { id: '719000000000000102', name: 'ของใช้ในบ้าน' },
  { id: '719000000000000103', name: 'อาหารและเครื่องดื่ม', color: '#2b8a3e' },
] as const;

export const ownAddresses = [
  {
    name: 'ร้านจำลอง (โกดัง)',
    telephone: '0810000001',
    address1: '12/3 หมู่ 4',
    sub_district: 'บางพลีใหญ่',
    district: 'บางพลี',
    province: 'สมุทรปราการ',
    postal_code: 10540,
  },
  {
    name: 'ร้านจำลอง (สำนักงานใหญ่)',
    telephone: '0810000002',
    address1: '99 ถนนสุขุมวิท',
    address2: 'ชั้น 8',
    sub_district: 'คลองเตย',
    district: 'คลองเตย',
    province: 'กรุงเทพมหานคร',
    postal_code: 10110,
    branch_type: 'h',
  },
  {
    name: 'ร้านจำลอง (สาขาเชียงใหม่)',
    telephone: '0810000003',
    address1: '7 ถนนนิมมานเหมินท์',
    sub_district: 'สุเทพ',
    district: 'เมืองเชียงใหม่',
    province: 'เชียงใหม่',
    postal_code: 50200,
    branch_type: 'b',
    branch_number: '00001',
  },
] as const;
