"""boto3 as it comes: no setting but where and who. An assertion ends it."""
import os
import urllib.error
import urllib.request

import boto3

URL = os.environ["HF_URL"]
BUCKET = os.environ["HF_BUCKET"]
KEY = "with space/plus+ä(1).txt"


def same(found, wanted):
    assert found == wanted, f"{found!r} instead of {wanted!r}"


def asked(url, method="GET", data=None, headers=None):
    request = urllib.request.Request(url, method=method, data=data, headers=headers or {})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def presigned_urls(s3, target):
    def link(operation, **params):
        return s3.generate_presigned_url(operation, Params=params)

    same(asked(link("put_object", **target), "PUT", b"by url", {"Content-Type": ""})[0], 200)
    same(asked(link("get_object", **target))[1], b"by url")
    same(asked(link("head_object", **target), "HEAD")[0], 200)
    said = {"ContentType": "text/csv", "Metadata": {"colour": "blue"}, "ACL": "public-read"}
    headers = {"Content-Type": "text/csv", "x-amz-meta-colour": "blue", "x-amz-acl": "public-read"}
    same(asked(link("put_object", **target, **said), "PUT", b"a,b", headers)[0], 200)
    head = s3.head_object(**target)
    same((head["ContentType"], head["Metadata"]), ("text/csv", {"colour": "blue"}))
    shown = 'attachment; filename="a b+c.csv"'
    same(asked(link("get_object", **target, ResponseContentDisposition=shown))[2]["Content-Disposition"], shown)
    readings = ["list_objects_v2", "list_objects", "get_bucket_acl", "list_object_versions", "get_bucket_location"]
    for operation in readings:
        same((operation, asked(link(operation, Bucket=BUCKET))[0]), (operation, 200))
    same(asked(link("get_object_tagging", **target))[0], 200)
    url = link("get_object", **target)
    same(asked(url + "&acl")[0], 403)
    same(asked(url.replace("plus", "minus"))[0], 403)
    same(asked(url, "DELETE")[0], 403)
    same(asked(link("delete_object", **target), "DELETE")[0], 204)
    return url


def presigned_post(s3):
    conditions = [{"acl": "private"}, ["content-length-range", 1, 20]]
    form = s3.generate_presigned_post(BUCKET, "posted/${filename}", {"acl": "private"}, conditions)
    same(posted(form, b"by form")[0], 204)
    same(s3.get_object(Bucket=BUCKET, Key="posted/a b+c.txt")["Body"].read(), b"by form")
    same(posted(form, b"x" * 21)[0], 400)
    form["fields"]["acl"] = "public-read"
    same(posted(form, b"by form")[0], 403)
    s3.delete_object(Bucket=BUCKET, Key="posted/a b+c.txt")
    return form


def posted(form, content):
    mark = "boundary-of-the-form"
    head = "".join(
        f'--{mark}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
        for name, value in form["fields"].items()
    )
    file = f'--{mark}\r\nContent-Disposition: form-data; name="file"; filename="a b+c.txt"\r\n\r\n'
    body = (head + file).encode() + content + f"\r\n--{mark}--\r\n".encode()
    return asked(form["url"], "POST", body, {"Content-Type": f"multipart/form-data; boundary={mark}"})


def main():
    # For these boto3 signs with Version 2, and for a region that it does not know with Version 4.
    for region, is_old in [("us-east-1", True), ("eu-west-1", True), ("auto", False)]:
        s3 = boto3.client("s3", endpoint_url=URL, region_name=region)
        place = {} if region == "us-east-1" else {"CreateBucketConfiguration": {"LocationConstraint": region}}
        s3.create_bucket(Bucket=BUCKET, **place)
        same(s3.head_bucket(Bucket=BUCKET)["BucketRegion"], region)
        same(s3.get_bucket_location(Bucket=BUCKET).get("LocationConstraint"), None if place == {} else region)
        target = {"Bucket": BUCKET, "Key": KEY}
        s3.put_object(**target, Body=b"plain")
        same([one["Key"] for one in s3.list_objects_v2(Bucket=BUCKET)["Contents"]], [KEY])
        same("AWSAccessKeyId=" in presigned_urls(s3, target), is_old)
        same("AWSAccessKeyId" in presigned_post(s3)["fields"], is_old)
        s3.delete_bucket(Bucket=BUCKET)


main()
